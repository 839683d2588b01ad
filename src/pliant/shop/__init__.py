"""What ships with pliant and is not the library: it shows, proves and sculpts with what users have too.

    scenes      scenes by name, with parameters and what they expect to see: `pliant run NAME`
    reproduce   the experiments of the sources, computed again: `pliant reproduce`
    validate    problems with known answers, and the matrix of methods and models: `pliant validate`
    compare     one scene under several contact methods: `pliant compare`
    sculpt      shapes for shows: chess pieces, vessels, bodies of free form

The library never imports it. It knows names only: `geometry/shapes.py` lists sculpted shapes as "module:function", which are loaded
when they are asked for. The command line is above the shop and imports it.
"""
