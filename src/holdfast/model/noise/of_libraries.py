"""What Python, NumPy, h5py and Hadoop print while all is well."""

from holdfast.model.noise.entry import Noise
from holdfast.model.pattern import Pattern

OLD_STYLE = "something that a later version will not have any more"
BUILT_APART = "two libraries that were built apart, and fit together all the same"
IN_JAVA = "Hadoop takes its slower way in Java"
OTHER_NAMENODE = "a namenode that stands by: the client asks the other one"
NO_HDFS = "TensorFlow looks for HDFS at its import, and most jobs do not use it"
JAVA_LOG = "Java's logging was not set up"
DEFAULTS = "a setting that nobody chose, and the default that is taken"

LIBRARIES = (
    Noise(
        Pattern(
            r":\d+: (?:\w*FutureWarning|\w*DeprecationWarning|SyntaxWarning|ResourceWarning): "
        ),
        OLD_STYLE,
    ),
    Noise(Pattern(r"VisibleDeprecationWarning: "), OLD_STYLE),
    Noise(Pattern(r"pkg_resources is deprecated as an API"), OLD_STYLE),
    Noise(Pattern(r"Passing \(type, 1\) or '1type' as a synonym of type"), OLD_STYLE),
    Noise(Pattern(r"RuntimeWarning: numpy\.\S+ size changed, may indicate binary"), BUILT_APART),
    Noise(Pattern(r"h5py is running against HDF5 \S+ when it was built against"), BUILT_APART),
    Noise(Pattern(r"hadoop_file_system\.cc:\d+\] HadoopFileSystem load error"), NO_HDFS),
    Noise(Pattern(r"Unable to load native-hadoop library for your platform"), IN_JAVA),
    Noise(Pattern(r"short-circuit local reads feature cannot be used"), IN_JAVA),
    Noise(Pattern(r"(?:INFO|WARN).*is not supported in state standby"), OTHER_NAMENODE),
    Noise(Pattern(r"DFSClient: Caught exception\s*$"), OTHER_NAMENODE),
    Noise(Pattern(r"SLF4J: "), JAVA_LOG),
    Noise(Pattern(r"log4j:WARN "), JAVA_LOG),
    Noise(Pattern(r"NumExpr defaulting to \d+ threads"), DEFAULTS),
    Noise(Pattern(r"Matplotlib (?:is building the font cache|created a temporary)"), DEFAULTS),
)
