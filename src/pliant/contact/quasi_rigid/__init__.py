"""Elastic contact of surfaces that are rigid but give way locally [Pauly, Pai, Guibas 2004]: responses, the elastic matrix, and its LCP."""
