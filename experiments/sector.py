"""Sector105 with 52 to 3 documents per class: one-vs-all and BCH codes beside a linear SVM.

``python -m experiments.sector``

After Table 7.2 of Rifkin, Yeo & Poggio (2003), "Regularized least-squares classification". Where
the collection is not to be had, the run says which file it looked for, and ends.
"""

from pathlib import Path

from experiments.data import DataNotFoundError
from experiments.report import Report, parser
from experiments.text_data import load_counts, read_counts
from experiments.text_protocol import HEADER, NOTES, Printed, Size, compare

SIZES = (
    Size(52, printed=Printed(svm=0.072, rlsc=0.066, coded_svm=0.067, coded_rlsc=0.069)),
    Size(20, printed=Printed(svm=0.176, rlsc=0.169, coded_svm=0.176, coded_rlsc=0.178)),
    Size(10, printed=Printed(svm=0.341, rlsc=0.335, coded_svm=0.343, coded_rlsc=0.344)),
    Size(3, printed=Printed(svm=0.650, rlsc=0.648, coded_svm=0.653, coded_rlsc=0.654)),
)
QUICK_SIZES = (Size(5), Size(3))
# The smallest of the 105 classes has fewer documents than the largest training set takes.
MOST = 0.5
BELOW = """

At most half of the documents of a class are for training. More than 64 classes have no words of
length 63 that all differ in the same number of columns, and BCH 63 by correlation is not
one-vs-all any more."""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--file", type=Path, help="counts of terms of another collection, .npz or svmlight"
    )
    options = arguments.parse_args()
    try:
        documents = read_counts(options.file) if options.file else load_counts("sector105")
    except DataNotFoundError as error:
        print(f"skipped: {error}")
        return
    report = Report(
        "sector",
        "Sector105: documents per class",
        HEADER,
        NOTES + BELOW,
        quick=options.quick,
        partial=options.file is not None,
    )
    sizes = QUICK_SIZES if options.quick else SIZES
    if options.file:  # of which the chapter knows nothing
        sizes = tuple(Size(size.documents) for size in sizes)
    compare(documents, sizes, report, MOST)


if __name__ == "__main__":
    main()
