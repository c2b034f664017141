"""What well-known programs keep in HDF5, and what of it must not be appended."""

from collections.abc import Sequence

from holdfast.rows.errors import Refused
from holdfast.rows.plain_files.survey import DATASET, GROUP_KIND, FileSurvey, ObjectFound

_GROUPS = "--layout group keeps each file whole"


def check_appendable(surveys: Sequence[FileSurvey]) -> None:
    """Refused where appended datasets would mean nothing to the program that reads them."""
    for survey in surveys:
        for name, one in survey.objects.items():
            what = _whole_only(survey, name, one)
            if what:
                raise Refused(
                    f"{survey.source.path}: {name or 'it'} is {what}, which cannot be appended",
                    do=_GROUPS,
                )


def _whole_only(survey: FileSurvey, name: str, one: ObjectFound) -> str:
    if one.kind == GROUP_KIND:
        if "weight_names" in one.attributes or "layer_names" in one.attributes:
            return "the weights of a Keras model"
        is_frame = "pandas_type" in one.attributes
        if is_frame and f"{name}/table" not in survey.objects:
            return "a DataFrame or Series that pandas wrote as format='fixed'"
    if one.kind == DATASET:
        parts = name.split("/")
        is_layer = parts[0] in ("layers", "_layer_checkpoint_dependencies")
        if is_layer and len(parts) > 2 and parts[-2] == "vars" and parts[-1].isdecimal():  # noqa: PLR2004
            return "a weight of a Keras model"
    return ""


def indexes_of_pytables(survey: FileSurvey) -> list[str]:
    """Indexes of columns: they know the numbers of rows, and would be wrong of appended ones."""
    return [
        name
        for name, one in survey.objects.items()
        if name.rpartition("/")[2].startswith("_i_")
        and "CLASS" in one.attributes
        and one.attributes["CLASS"].text == "'TINDEX'"
    ]
