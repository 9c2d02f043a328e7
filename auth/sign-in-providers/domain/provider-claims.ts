/** The claims about a person that the gateway uses from a provider. */
export interface ProviderClaims {
  readonly subject: string;
  /**
   * The e-mail address if the provider states that it has verified the address (`email_verified`);
   * otherwise null.
   */
  readonly verifiedEmail: string | null;
  readonly groups: readonly string[];
}

export interface AdmissionRules {
  readonly allowedEmailDomains: readonly string[];
  readonly allowedGroups: readonly string[];
}

/**
 * Reads the claims of an ID token or of userinfo. A claim with a wrong type is treated as missing.
 */
export function readClaims(claims: Readonly<Record<string, unknown>>): ProviderClaims {
  const { sub, email, email_verified: isVerified, groups } = claims;
  const groupList = typeof groups === 'string' ? [groups] : groups;
  return {
    subject: typeof sub === 'string' ? sub : '',
    verifiedEmail: typeof email === 'string' && isVerified === true ? email : null,
    groups: Array.isArray(groupList) ? groupList.filter((each) => typeof each === 'string') : [],
  };
}

/**
 * Explains in a sentence why a person may not sign in through this provider; null when the person
 * may. At every sign-in, the person must match every list that the admin configured, so that a
 * person who left a group is refused. A provider without any list admits only users who already
 * exist.
 */
export function findAdmissionProblem(
  { verifiedEmail, groups }: ProviderClaims,
  { allowedEmailDomains, allowedGroups }: AdmissionRules,
  { isKnown }: { isKnown: boolean },
): string | null {
  if (allowedEmailDomains.length > 0) {
    if (verifiedEmail === null) return 'The provider does not vouch for your e-mail address.';
    if (!allowedEmailDomains.includes(domainOf(verifiedEmail))) {
      return 'Your e-mail address is not of a domain that may sign in here.';
    }
  }
  if (allowedGroups.length > 0 && !groups.some((group) => allowedGroups.includes(group))) {
    return 'You are in none of the groups that may sign in here.';
  }
  const admitsNobody = allowedEmailDomains.length === 0 && allowedGroups.length === 0;
  return admitsNobody && !isKnown ? 'Nobody has given you access here yet.' : null;
}

/** The text after the last `@`. The local part may contain another `@` in quotes. */
function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}
