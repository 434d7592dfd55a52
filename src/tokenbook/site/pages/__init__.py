"""Pages that are written from data: course, glossary, errata, references, API."""
