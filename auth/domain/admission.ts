/** What a provider says about somebody, as far as it counts here. */
export interface ProviderClaims {
  readonly subject: string;
  /** Only when the provider vouches for it (`email_verified`). */
  readonly verifiedEmail: string | null;
  readonly groups: readonly string[];
}

export interface AdmissionRules {
  readonly allowedEmailDomains: readonly string[];
  readonly allowedGroups: readonly string[];
}

/** Reads claims of an ID token or of userinfo; what has another type than it should is not there. */
export function readClaims(claims: Readonly<Record<string, unknown>>): ProviderClaims {
  const { sub, email, email_verified: isVerified, groups } = claims;
  const given = typeof groups === 'string' ? [groups] : groups;
  return {
    subject: typeof sub === 'string' ? sub : '',
    verifiedEmail: typeof email === 'string' && isVerified === true ? email : null,
    groups: Array.isArray(given) ? given.filter((each) => typeof each === 'string') : [],
  };
}

/**
 * Why somebody may not come in by this provider, as a sentence for them; null when they may. Every
 * list that is set must be met, each time, so that who leaves the group stays out; with none set
 * only those come in who are known already.
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

/** What follows the last `@`: an address may hold others in quotes. */
function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}
