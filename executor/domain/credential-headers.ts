/** What the last words of a header's name are when its value is a credential. */
const credentialName = new RegExp(
  '(^|[-_])(' +
    'authorization|auth|cookie2?|credentials?|jwt|password|passwd|passphrase|secret|signature|' +
    '[a-z]*token|(api|access|account|app|application|auth|client|master|private|service|subscription)[-_]?key|' +
    'session([-_]?id)?' +
    ')$',
);

/** Whether a header is known, or sounds, to carry a credential: such a one is shown by its name alone. */
export function isCredentialHeader(name: string): boolean {
  return credentialName.test(name.toLowerCase());
}
