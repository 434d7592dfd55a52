"""Chinese search by character pairs, in the index and in the query alike.

策略梯度 is indexed as 策略 略梯 梯度 and its four characters; a query is cut the same
way, so any run of Chinese words is found without a word list. Sphinx's own Chinese
search needs a segmenter and never cuts the query.
"""

import re
from itertools import pairwise
from typing import ClassVar

from sphinx.application import Sphinx
from sphinx.search.zh import SearchChinese

TOKEN = re.compile(r"[\u3400-\u9fff]+|[a-zA-Z0-9_]+")

SPLITTER = r"""
var splitQuery = (query) => {
  const words = query.match(/[\u3400-\u9fff]+|[a-zA-Z0-9_]+/g) || [];
  return words.flatMap((word) => {
    if (word.length < 2 || !/[\u3400-\u9fff]/.test(word)) return [word];
    return [...word].slice(1).map((char, i) => word[i] + char);
  });
};
"""


class SearchByPairs(SearchChinese):
    """Index Latin words as Sphinx does and Han runs by characters and pairs."""

    js_splitter_code = SPLITTER
    latin_terms: ClassVar[set[str]] = set()  # a list or a set, by Sphinx's version

    def split(self, input: str) -> list[str]:
        words = []
        for word in TOKEN.findall(input):
            if word[0] < "\u3400":
                self.latin_terms.add(word)
                words.append(word)
            else:
                words += [*word, *map("".join, pairwise(word))]
        return words

    def word_filter(self, word: str) -> bool:
        return word[0] >= "\u3400" or super().word_filter(word)


def setup(app: Sphinx) -> dict:
    app.add_search_language(SearchByPairs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
