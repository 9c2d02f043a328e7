/** Header names that end in one of these words have credentials as values. */
const credentialNamePattern = new RegExp(
  '(^|[-_])(' +
    'authorization|auth|cookie2?|credentials?|jwt|password|passwd|passphrase|secret|signature|' +
    '[a-z]*token|(api|access|account|app|application|auth|client|master|private|service|subscription)[-_]?key|' +
    'session([-_]?id)?' +
    ')$',
);

/**
 * Whether a header carries a credential, judged by its name: known names, or names that end in one
 * of the words above. Such a header is shown without its value.
 */
export function isCredentialHeader(name: string): boolean {
  return credentialNamePattern.test(name.toLowerCase());
}
