"""Which credentials of a member its agent reports to the control plane (`--report-secrets`)."""

from karmada.membership.refusal import Refused

CREDENTIALS, IMPERSONATOR, NONE = "KubeCredentials", "KubeImpersonator", "None"


def parse_report_secrets(text: str) -> frozenset[str]:
    """`--report-secrets`: which credentials of the member the control plane is given."""
    given = {part.strip() for part in text.split(",") if part.strip()}
    unknown = given - {CREDENTIALS, IMPERSONATOR, NONE}
    if unknown:
        raise Refused(
            f"--report-secrets: unknown {', '.join(sorted(unknown))}: give {CREDENTIALS}, {IMPERSONATOR} or {NONE}"
        )
    if NONE in given and len(given) > 1:
        raise Refused(f"--report-secrets: {NONE} stands alone")
    return frozenset(given - {NONE})
