"""Exercises in the page: an editor under each, checked by the browser.

page.py           puts an editor under each exercise; the page of all exercises
practice.js .css  the editor, the verdict, the answers kept in this browser
list.js           the page of all exercises: filters, the next one, a clock
worker.mjs        Python in a worker, which can be ended
runner.py         runs an answer and its public checks, as the notebook would
small_torch.py    the part of torch that answers use, of plain lists
small_course.py   the three functions of tokencredit that public checks use
words.yml         the words, in each language; the ten functions to know by heart
python/           Pyodide's core, made by vendor.py and slim.mjs (make python)
"""
