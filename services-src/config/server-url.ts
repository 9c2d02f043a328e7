/** How the user name and the password of a server's URL have to be written. */
export const encodingHint =
  'whose user name and password are percent-encoded (# is %23, % is %25, / is %2F, a comma %2C)';

/**
 * Parses the URL of a server. Undefined if it is no URL, or if its user name or password has a
 * character that must be percent-encoded: `#` would end the host, and `%` could not be decoded.
 */
export function parseServerUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || text.includes('#')) return undefined;
  try {
    decodeURIComponent(url.username);
    decodeURIComponent(url.password);
    return url;
  } catch {
    return undefined;
  }
}
