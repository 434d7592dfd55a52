// Write Python's library as the page needs it: compiled, and without what no answer uses.
//
//     node slim.mjs FOLDER_OF_PYODIDE NAMES_OF_MODULES TARGET.zip
//
// Kept is what Python has loaded once it has started and imported the named modules. The
// same input gives the same bytes, whichever node runs this.
import fs from "fs";
import path from "path";
import { pathToFileURL } from "url";

const [folder, names, target] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.resolve(folder, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: path.resolve(folder) + path.sep });
python.FS.writeFile("/library.zip", fs.readFileSync(path.join(folder, "python_stdlib.zip")));
python.globals.set("wanted", fs.readFileSync(names, "utf8"));
python.runPython(`
import _imp, importlib, sys, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc

for name in wanted.split():
    importlib.import_module(name)
whole = zipfile.ZipFile("/library.zip")
files = {n.removesuffix(".py").removesuffix("/__init__").replace("/", "."): n
         for n in sorted(whole.namelist()) if n.endswith(".py")}
with zipfile.ZipFile("/slim.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as slim:
    for module, name in files.items():
        if module not in sys.modules:
            continue
        source = whole.read(name)
        code = compile(source, name, "exec", dont_inherit=True, optimize=2)
        sum = _imp.source_hash(_imp.pyc_magic_number_token, source)
        entry = zipfile.ZipInfo(name + "c", (1980, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        slim.writestr(entry, _code_to_hash_pyc(code, sum, False), compresslevel=9)
`);
fs.writeFileSync(target, python.FS.readFile("/slim.zip"));
