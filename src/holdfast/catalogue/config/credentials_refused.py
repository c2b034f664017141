"""A storage, registry or service asks who this is, and does not accept the answer.

## What you see
`Unable to locate credentials`, `AccessDenied`, `HTTP response code 401` or 403, `GatedRepoError`,
`Could not automatically determine credentials`, Kerberos' `Failed to find any Kerberos tgt`,
`api_key not configured`.

## Why it happens
The credentials are on the host where the job was started but not where it runs, have expired, or
have no right to this bucket, repository or model.

## How to confirm it by hand
In the task's own environment: `aws sts get-caller-identity`, `gcloud auth list`, `klist`,
`huggingface-cli whoami`.

## What to do
Hand the credentials to every task (environment, mounted secret, keytab), renew them, or ask the
owner for the right.

## When this accusation would be wrong
Some stores answer 403 for a name that does not exist. A library that tries several sources in turn
reports the ones that failed before it found one.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="auth-permission",
    remedy=AskHuman(),
    where=(
        Pattern(r'Failed to pull image "(?P<culprit>[^"]+)"'),
        Pattern(r"pull access denied for (?P<culprit>[^\s,]+)"),
        Pattern(
            r"(?:for url|Error while accessing|Cannot access gated repo for url):? (?P<culprit>\S+)"
        ),
    ),
    words=(
        Words(Pattern(r"NoCredentialsError|Unable to locate credentials")),
        Words(
            Pattern(
                r"\((?:AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken\w*"
                r"|UnrecognizedClientException|AuthorizationHeaderMalformed)\)"
                r"|<Code>(?:AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken)"
            )
        ),
        Words(Pattern(r"DefaultCredentialsError|Could not automatically determine credentials")),
        Words(
            Pattern(
                r"does not have storage\.\w+\.\w+ (?:access|permission)|Anonymous caller does not"
            )
        ),
        Words(Pattern(r"HTTP response code (?:401|403)|\b(?:401|403) Client Error: \w+ for url")),
        Words(
            Pattern(
                r"HTTP Error (?:401|403): |\((?:401|403)\) when calling the "
                r"|status code:? (?:401|403)\b"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"GatedRepoError|Cannot access gated repo|Invalid user token"
                r"|Invalid username or password|Access to model \S+ is restricted"
                r"|is not authorized to perform"
            )
        ),
        Words(
            Pattern(
                r"Failed to find any Kerberos (?:tgt|credentials)|GSS initiate failed"
                r"|GSSException: No valid credentials|Client cannot authenticate via:"
                r"|[Kk]erberos ticket (?:has )?expired|Ticket expired"
            )
        ),
        Words(Pattern(r"api_key not configured|wandb: ERROR .*(?:API key|[Pp]ermission denied)")),
        Words(
            Pattern(
                r"pull access denied|unauthorized: authentication required"
                r"|is forbidden: User \"?[\w:.-]+\"? cannot"
            )
        ),
        Words(Pattern(r"StatusCode\.(?:UNAUTHENTICATED|PERMISSION_DENIED)|UNAUTHENTICATED: ")),
        Words(
            Pattern(
                r"(?:^|[:\s\"'\[(])(?:401 Unauthorized|403 Forbidden)\b|code = (?:PermissionDenied"
                r"|Unauthenticated)\b|CERTIFICATE_VERIFY_FAILED|x509: certificate (?:signed"
                r"|has expired)"
                r"|Access/permission denied|[Aa]uthentication (?:failed|error|failure)[:.!]"
                r"|permission denied while trying to connect to the Docker|SSLCertVerificationError"
                r"|AccessDeniedException|(?:Unauthorized|Forbidden)(?:Error|Exception)\b"
                r"|[Pp]ermission denied for (?:user|table|relation|bucket)|invalid_grant"
                r"|[Ii]nvalid (?:API key|credentials|access token)|Missing Authentication Token"
            ),
            Weight.SIGN,
            unless=Pattern(r"(?i:proxy|tunnel|warning)"),
        ),
        Words(
            Pattern(r"Token (?:has )?expired|InvalidToken: token|token \([^)]*\) can't be found")
        ),
        Words(
            Pattern(
                r"Invalid account or account/partition combination|Job credential expired"
                r"|[Uu]ser's group not permitted to use this partition"
            )
        ),
        Words(
            Pattern(r"Protocol authentication error|Munge (?:de|en)code failed|munge_\w+ failed")
        ),
    ),
    do=(
        "ask who you are, where the task runs: aws sts get-caller-identity, gcloud auth list",
        "hand the credentials to every task, or renew them: kinit, gcloud auth login",
    ),
)
