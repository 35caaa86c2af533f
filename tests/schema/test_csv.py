"""CSV files as programs and offices write them; no complaint quotes a byte of a row."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet.errors import DataError, DeclarationError
from privet.schema import Categorical, FileFormat, Label, Numeric, Schema, draft
from privet.schema.csv_files import CsvText
from privet.schema.tables import open_table

pytest.importorskip("pyarrow")

COLUMNS = {"Größe": Numeric(0, 2), "ward": Categorical(["Ä", "B;b", "two\nlines"])}
PLAIN = Schema(COLUMNS, Label("ill", ["nein", "ja"]))
CANARY = "canary-7183"
#: what the text below holds, column by column
SIZES = [1.5, 0.5, 1.0, 0.0]


def written(separator: str = ",", decimal: str = ".", end: str = "\n") -> str:
    """Four rows: all kinds of quoting, the last with every cell missing."""
    rows = [
        ["Größe", "ward", "ill"],
        ["1.5", "Ä", "ja"],
        ["0.5", '"B;b"', "nein"],
        ["1", '"two\nlines"', '"ja"'],
        ["0", "", "ja"],
    ]
    rows = [[row[0].replace(".", decimal), *row[1:]] for row in rows]
    if separator == decimal:
        rows = [[f'"{row[0]}"', *row[1:]] for row in rows]
    return "".join(separator.join(row) + end for row in rows)


def is_right(schema: Schema, path: Path) -> None:
    x, y = schema.encode(path)
    x = x / schema.factor
    assert x[:, 0] == pytest.approx([size - 1 for size in SIZES])
    assert x[:, 1:].argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert y.tolist() == ["ja", "nein", "ja", "ja"]


def with_file(**declared: str) -> Schema:
    return Schema(COLUMNS, Label("ill", ["nein", "ja"]), file=FileFormat(**declared))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_the_same_table_however_it_is_written(
    tmp_path: Path, end: str, separator: str, decimal: str, encoding: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(written(separator, decimal, end).encode(encoding))
    declared = {"decimal": decimal}
    if encoding in ("latin-1", "cp1252"):  # the others are known by their mark
        declared["encoding"] = encoding
    is_right(with_file(**declared), path)
    is_right(with_file(**declared, separator=separator), path)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv.gz", "t.tsv"])
def test_a_compressed_file_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(written().encode()))
    is_right(PLAIN, tmp_path / name)
    (tmp_path / name).write_bytes(written().encode())
    is_right(PLAIN, tmp_path / name)


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_the_line_with_which_excel_names_the_separator(tmp_path: Path, first: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (first + written(";")).encode())
    is_right(PLAIN, path)
    path.write_bytes((first + written(";") + f"{CANARY}\n").encode())
    # "two\nlines" takes two lines but is one row
    with pytest.raises(DataError, match="row 7, counting the first line, has 1 cells"):
        PLAIN.encode(path)


def test_columns_and_lines_that_a_spreadsheet_left_blank(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Größe;;ward;ill;;\n1;x;Ä;ja;;\n\n;;;;;\n", encoding="utf-8")
    x, y = PLAIN.encode(path)
    assert len(x) == 2  # a blank line is none, a line of blank cells is a row
    assert y.tolist() == ["ja", "nein"]
    assert list(open_table(path).types) == ["Größe", "ward", "ill"]


def test_duckdb_writes_what_is_read(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "t.csv"
    query = (
        "select * from (values (1.5, 'Ä', 'ja'), (0.5, 'B;b', 'nein'), "
        "(1.0, 'two\nlines', 'ja'), (0.0, null, 'ja')) t(\"Größe\", ward, ill)"
    )
    duckdb.connect().sql(query).write_csv(str(path), sep=";")
    is_right(PLAIN, path)


def test_a_mark_of_utf8_wins_over_the_declared_encoding(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(written().encode("utf-8-sig"))
    is_right(with_file(encoding="latin-1"), path)


def test_whole_numbers_with_a_decimal_comma_are_still_categories(tmp_path: Path) -> None:
    schema = Schema(
        {"a": Categorical([1, 2])}, Label("y", [0, 1]), file=FileFormat(separator=";", decimal=",")
    )
    path = tmp_path / "t.csv"
    path.write_text("a;y\n1,0;1,0\n2;0\n1,5;1\n1.0;1\n")
    x, y = schema.encode(path)
    assert x.argmax(axis=1).tolist() == [0, 1, 2, 0]
    assert y.tolist() == [1, 0, 1, 1]


def test_with_a_decimal_comma_a_point_is_no_decimal_sign(tmp_path: Path) -> None:
    schema = Schema({"a": Numeric(0, 2)}, Label("y", [0, 1]), file=FileFormat(decimal=","))
    path = tmp_path / "t.csv"
    path.write_text('a;y\n1,5;0\n"1.500";1\n"1.500,5";1\n')
    assert (schema.encode(path).x[:, 0] / schema.factor).tolist() == [0.5, 0.0, 0.0]


# -- the first line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "separator"),
    [
        ("a;b,c;d", ";"),
        ("a", ","),
        ('"a,b,c";d', ";"),
        ("a\tb c\td", "\t"),
        ("a|b", "|"),
        ("a,b", ","),
    ],
)
def test_the_separator_is_guessed_from_the_first_line_only(
    tmp_path: Path, line: str, separator: str
) -> None:
    for rows in ("1,2,3,4,5,6\n" * 9, "1;2;3;4;5\n" * 9, ""):
        path = tmp_path / "t.csv"
        path.write_text(f"{line}\n{rows}")
        assert open_table(path).separator == separator


def test_missing_columns_are_all_named_beside_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"size;ward\n1;{CANARY}\n")
    with pytest.raises(DataError) as error:
        PLAIN.encode(path)
    for name in ("'Größe'", "'ill'", "'size', 'ward'"):
        assert name in str(error.value)
    declared = Schema(PLAIN.columns, PLAIN.label, file=FileFormat(separator=","))
    with pytest.raises(DataError, match="split at ',': is that the separator"):
        declared.encode(path)


def test_a_name_that_is_spelled_alike_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{','.join('abcdefghijklm')},größe,ill,wards\n{','.join([CANARY] * 16)}\n")
    with pytest.raises(DataError, match=r"Is 'größe', 'wards' meant\?") as error:
        PLAIN.encode(path)
    assert CANARY not in str(error.value)


def test_a_first_line_of_cells_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"1.5;{CANARY};ja\n0.5;B;nein\n")
    for use in (PLAIN.encode, lambda path: draft(path, "ill")):
        with pytest.raises(DataError, match="Is its first line a line of names") as error:
            use(path)
        assert CANARY not in str(error.value)


def test_names_that_occur_twice_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,a,c,b\n1,2,3,4,5\n")
    with pytest.raises(DataError, match="'a', 'b'"):
        PLAIN.encode(path)
    path.write_text(f"{CANARY},{CANARY},1.5\na,b,2\n")
    with pytest.raises(DataError, match="seems to be a row") as error:
        PLAIN.encode(path)
    assert CANARY not in str(error.value)


def test_names_that_occur_twice_in_a_parquet_file_are_named(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    path = tmp_path / "t.parquet"
    text = pa.array(["B;b"] * 4)  # the type of text columns is asked for by name
    write_table(pa.Table.from_arrays([text, text], names=["ward", "ward"]), path)
    with pytest.raises(DataError, match="several columns of the same name: 'ward'"):
        PLAIN.encode(path)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_the_first_line_may_be_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("privet.schema.csv_files.CHUNK", size)
    path = tmp_path / "t.csv"
    for end in ("\n", "\r\n"):
        # the mark of a byte order and the line "sep=" are looked for in what is read first
        path.write_bytes(('"a\nb";"c""d";é' + end + "1;2;3" + end).encode())
        with CsvText(path, FileFormat()) as text:
            assert text.names == ["a\nb", 'c"d', "é"]
            assert text.read() == f"c0;c1;c2\n1;2;3{end}".encode()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("aé\n;\"'\r,☃", max_size=40), st.integers(1, 9), st.integers(1, 9))
def test_reading_in_pieces_gives_the_whole_text(
    tmp_path: Path, body: str, chunk: int, asked: int
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(("a;b\n" + body).encode("utf-16-le"))
    with (
        pytest.MonkeyPatch.context() as patch,
        CsvText(path, FileFormat(encoding="utf-16-le")) as text,
    ):
        patch.setattr("privet.schema.csv_files.CHUNK", chunk)
        pieces = []
        while piece := text.read(asked):
            assert len(piece) <= asked
            pieces.append(piece)
    assert b"".join(pieces).decode() == "c0;c1\n" + body


# -- complaints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,y\n1,0\n" + b"\xff" + CANARY.encode() + b",2,3\n", "line 3 is not UTF-8 text"),
        (b"a,y\n1,0\n1,\xe4" + CANARY.encode() + b"\n", 'encoding = "latin-1"'),
        ("a,y\n1,0\n".encode("utf-16-le"), 'encoding = "utf-16"'),
        (b"PK\x03\x04" + CANARY.encode(), "Excel workbook"),
        (gzip.compress(b"a,y\n" + b"1,0\n" * 999, mtime=0)[:-9], "compressed bytes"),
        (b'"a,y\n1,' + CANARY.encode(), "a quote that does not end"),
        (b"\n1," + CANARY.encode(), "no first line of names"),
        (b"", "no first line of names"),
        (b"a,y\n1,0\n" + CANARY.encode() + b",2,3\n", "row 3, counting the first line, has 3"),
    ],
)
def test_a_complaint_names_the_line_and_quotes_nothing(
    tmp_path: Path, content: bytes, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    schema = Schema({"a": Numeric(0, 1)}, Label("y", [0, 1]))
    with pytest.raises(DataError) as error:
        schema.encode(path)
    assert told in str(error.value)
    assert error.value.__context__ is None or error.value.__suppress_context__
    # what Python says of an exception that it ignores goes to the process's own streams
    assert CANARY not in str(error.value) + "".join(capfd.readouterr())


def test_no_traceback_of_a_callback_quotes_a_byte(tmp_path: Path) -> None:
    """A row with too many cells and a byte that is no UTF-8 was quoted behind Python's back."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n1,0\n\xe9" + CANARY.encode() + b",2,3\n")
    code = (
        "from privet.schema import *\n"
        "s = Schema({'a': Numeric(0, 1)}, Label('y', [0, 1]))\n"
        f"try: s.encode({str(path)!r})\nexcept ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "line 3" in done.stdout


def test_a_bad_byte_far_into_the_file_is_found_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privet.schema.csv_files.CHUNK", 100)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n" + b"1,0\n" * 500 + b"1,\xff\n" + b"1,0\n" * 500)
    with pytest.raises(DataError, match="line 502 is not UTF-8 text"):
        Schema({"a": Numeric(0, 1)}, Label("y", [0, 1])).encode(path)


# -- the declaration ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"separator": ";;"},
        {"separator": '"'},
        {"separator": "a"},
        {"separator": 7},
        {"separator": "§"},
        {"encoding": "latin-99"},
        {"encoding": "rot13"},
        {"encoding": "base64"},
        {"encoding": 7},
        {"decimal": ";"},
    ],
)
def test_a_wrong_declaration_is_refused(wrong: dict[str, object]) -> None:
    (key,) = wrong
    with pytest.raises(DeclarationError, match=key):
        FileFormat(**wrong)  # type: ignore[arg-type]


def test_a_schema_keeps_how_its_files_are_written(tmp_path: Path) -> None:
    schema = with_file(separator="tab", encoding="cp1252", decimal=",")
    again = Schema.from_toml(schema.to_toml())
    assert again == schema
    assert again.file == FileFormat("\t", "cp1252", ",")
    assert again != PLAIN
    path = tmp_path / "t.csv"
    path.write_bytes(written("\t", ",").encode("cp1252"))
    is_right(again, path)


def test_a_draft_reads_and_repeats_how_the_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("Größe;ill\n1,5;ja\n0,5;nein\n".encode("latin-1"))
    text = draft(path, "ill", from_data=True, file=FileFormat(encoding="latin-1", decimal=","))
    schema = Schema.from_toml(text)
    assert schema.file == FileFormat(";", "latin-1", ",")
    column = schema.columns["Größe"]
    assert isinstance(column, Numeric)
    assert (column.low, column.high) == (0.5, 1.5)
    assert np.array_equal(schema.encode(path).y, ["ja", "nein"])
