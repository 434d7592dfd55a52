from tokencredit.integrations.trl.command import main

main()
