"""The book in other forms 书的别的形式: text for assistants, cards, slides."""
