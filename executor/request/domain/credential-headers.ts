/** The last words of header names whose values are credentials. */
const credentialNamePattern = new RegExp(
  '(^|[-_])(' +
    'authorization|auth|cookie2?|credentials?|jwt|password|passwd|passphrase|secret|signature|' +
    '[a-z]*token|(api|access|account|app|application|auth|client|master|private|service|subscription)[-_]?key|' +
    'session([-_]?id)?' +
    ')$',
);

/**
 * Whether a header carries a credential, by its known name or its last words. Such a header is
 * shown without its value.
 */
export function isCredentialHeader(name: string): boolean {
  return credentialNamePattern.test(name.toLowerCase());
}
