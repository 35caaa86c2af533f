"""A second computation of a release's privacy, from its file alone and in ball arithmetic.

What is here shares no code with the mechanisms, the losses, the noise or the accounting: it reads
the plain data of a file, takes the formulas from the proofs (``privet/mechanisms/*.proof.md``) and
encloses every number between two bounds that are certain (``python-flint``, the extra ``verify``).
A mistake in the library's calibration and the same mistake here would have to be made twice.

    recompute(path)    every number of the file: claimed, certified enclosure, verdict

``tests/laws/test_certificate_alone.py`` proves by the imports that nothing is shared.
"""
