from tokencredit.engines.trl.command import main

main()
