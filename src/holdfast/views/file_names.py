"""The names of files without the folder that all of them share: a person has named it already."""

from typing import Any

Report = dict[str, Any]


def with_short_names(report: Report) -> Report:
    """The same report; machines get the names as they are, people as few words as are needed."""
    folder = shared_folder(report)
    if not folder:
        return report

    def short(name: str) -> str:
        return name.removeprefix(folder)

    def each(entries: list[Report]) -> list[Report]:
        return [one | {"file": short(one["file"])} if one["file"] else one for one in entries]

    made = dict(report)
    made["findings"] = [one | {"evidence": each(one["evidence"])} for one in report["findings"]]
    for name in {"timeline", "unusual", "sources"} & report.keys():
        made[name] = each(report[name])
    made["unknown"] = [text.replace(folder, "") for text in report["unknown"]]
    made["last_words"] = {short(name): said for name, said in report["last_words"].items()}
    made["logs"] = {task: list(map(short, names)) for task, names in report["logs"].items()}
    return made


def shared_folder(report: Report) -> str:
    """With its slash; empty where the files lie in different places, or in none."""
    names = [source["file"] for source in report.get("sources", [])]
    folders = [name.rpartition("/")[0].split("/") for name in names]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join([*shared, ""]) if any(shared) else ""
