"""The nouns: frozen values and pure decisions over them. Nothing here acts."""
