"""Encodings of the papers' tables, written down from the files' documentation.

Categories, bounds and groups are declarations: nothing here was computed from rows.
"""

from __future__ import annotations

from .columns import Bins, Column, Groups, Number, each

#: UCI Adult in groups that are usual in labor statistics: ages in decades, hours (part-time,
#: full-time, over, long), five levels of schooling, three of marriage, the six summary groups of
#: the 1990 census' occupations, capital gains below and above a tenth of the 50,000 that are to be
#: predicted. Eight groups, so every row has eight ones; 31 columns.
ADULT: dict[str, Column] = {
    "age": Bins((25, 35, 45, 55, 65)),
    "hours-per-week": Bins((35, 41, 50)),
    "education-num": Bins((9, 10, 13, 14)),
    "capital-gain": Bins((1, 5000)),
    "capital-loss": Bins((1,)),
    "marital-status": Groups(
        {"married": "Married-civ-spouse Married-AF-spouse", "never": "Never-married"}, "formerly"
    ),
    "occupation": Groups(
        {
            "managers, professionals": "Exec-managerial Prof-specialty",
            "technical, sales, clerical": "Tech-support Sales Adm-clerical",
            "farming": "Farming-fishing",
            "craft": "Craft-repair",
            "operators, laborers": "Machine-op-inspct Transport-moving Handlers-cleaners",
        },
        "service",
    ),
    "sex": each("Female Male"),
}

#: UCI Adult as Chaudhuri et al. (2011) describe it: every category of the documentation its own
#: column, numbers scaled by bounds; 103 columns (without the sampling weight ``fnlwgt``).
ADULT_FULL: dict[str, Column] = {
    "age": Number(17, 90),
    "education-num": Number(1, 16),
    "capital-gain": Number(0, 99_999),
    "capital-loss": Number(0, 5_000),
    "hours-per-week": Number(1, 99),
    "workclass": each(
        "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay"
    ),
    "education": each(
        "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th "
        "Masters 1st-4th 10th Doctorate 5th-6th Preschool"
    ),
    "marital-status": each(
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
        "Married-AF-spouse"
    ),
    "occupation": each(
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
        "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
        "Priv-house-serv Protective-serv Armed-Forces"
    ),
    "relationship": each("Wife Own-child Husband Not-in-family Other-relative Unmarried"),
    "race": each("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
    "sex": each("Female Male"),
    "native-country": each(
        "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) "
        "India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica "
        "Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti "
        "Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador "
        "Trinadad&Tobago Peru Hong Holand-Netherlands"
    ),
}

_RATES = (
    "serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate "
    "srv_diff_host_rate dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate "
    "dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate "
    "dst_host_rerror_rate dst_host_srv_rerror_rate"
)
_TRAFFIC: dict[str, Column] = {
    "duration": Number(0, 60_000, logarithm=True),
    "src_bytes": Number(0, 1e9, logarithm=True),
    "dst_bytes": Number(0, 1e9, logarithm=True),
    "land": Number(0, 1),
    "wrong_fragment": Number(0, 3),
    "logged_in": Number(0, 1),
    "count": Number(0, 511, logarithm=True),
    "srv_count": Number(0, 511, logarithm=True),
    "dst_host_count": Number(0, 255),
    "dst_host_srv_count": Number(0, 255),
    **{name: Number(0, 1) for name in _RATES.split()},
    "protocol_type": each("icmp tcp udp"),
}
_SERVICES = (
    "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs exec "
    "finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 imap4 IRC "
    "iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn netstat "
    "nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje shell smtp "
    "sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet "
    "whois X11 Z39_50"
)
_CONTENT = {"hot": 100, "num_compromised": 1000, "num_root": 1000, "num_file_creations": 100}
_FLAGS = {"root_shell": 1, "su_attempted": 2, "is_host_login": 1, "is_guest_login": 1}
_FEW = {"urgent": 14, "num_failed_logins": 5, "num_shells": 5, "num_access_files": 10}

#: KDD Cup 1999 without the content features, which its documentation says were made for attacks
#: from inside a connection (a few rows in ten thousand), and with ten well-known services and three
#: flags by name; heavy tails on a logarithmic scale; 43 columns.
KDDCUP99: dict[str, Column] = {
    **_TRAFFIC,
    "service": each("http smtp ftp ftp_data domain_u telnet ecr_i eco_i private other", "another"),
    "flag": each("SF S0 REJ", "another"),
}

#: KDD Cup 1999 with every documented feature and category; 121 columns.
KDDCUP99_FULL: dict[str, Column] = {
    **_TRAFFIC,
    **{name: Number(0, high, logarithm=True) for name, high in (_CONTENT | _FEW).items()},
    **{name: Number(0, high) for name, high in _FLAGS.items()},
    "service": each(_SERVICES),
    "flag": each("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"),
}

#: UCI Covertype's ten measurements between bounds wider than what its documentation reports.
COVERTYPE_NUMBERS: dict[str, Column] = {
    "Elevation": Number(1_800, 4_000),
    "Aspect": Number(0, 360),
    "Slope": Number(0, 70),
    "Horizontal_Distance_To_Hydrology": Number(0, 1_500),
    "Vertical_Distance_To_Hydrology": Number(-200, 700),
    "Horizontal_Distance_To_Roadways": Number(0, 8_000),
    "Hillshade_9am": Number(0, 255),
    "Hillshade_Noon": Number(0, 255),
    "Hillshade_3pm": Number(0, 255),
    "Horizontal_Distance_To_Fire_Points": Number(0, 8_000),
}

#: The same with the four wilderness areas and the forty soil types; 54 columns.
COVERTYPE: dict[str, Column] = {
    **COVERTYPE_NUMBERS,
    **{f"Wilderness_Area{i}": Number(0, 1) for i in range(1, 5)},
    **{f"Soil_Type{i}": Number(0, 1) for i in range(1, 41)},
}
