/**
 * The reason why the `Authorization` header does not identify a client, as a sentence for the
 * client's developer.
 */
export interface BasicClientProblem {
  readonly problem: string;
}

/**
 * The client that identifies itself by HTTP Basic (RFC 6749 §2.3.1). Its id is the user name; the
 * password is empty, because no client has a secret here. Undefined for a header of another kind,
 * which identifies no client.
 */
export function readBasicClient(
  authorization: string | undefined,
): { readonly clientId: string } | BasicClientProblem | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) {
    return /^Basic(?: |$)/i.test(authorization ?? '') ? { problem: malformed } : undefined;
  }
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  // An id that is a URL contains colons, which not every client encodes.
  const end = pair.startsWith('https://') ? pair.lastIndexOf(':') : pair.indexOf(':');
  const clientId = end === -1 ? undefined : decodeForm(pair.slice(0, end));
  if (clientId === undefined || !/^[\x21-\x7e]+$/.test(clientId)) return { problem: malformed };
  if (end !== pair.length - 1) return { problem: hasSecret };
  return { clientId };
}

const malformed =
  'The Authorization header is malformed. Send client_id in the body, or Basic with the base64 of the client id and a colon.';
const hasSecret =
  'Clients have no secret here. Send client_id in the body, or Basic with the client id and an empty password.';

/** Both the user name and the password are encoded as in a form (RFC 6749 §2.3.1, Appendix B). */
function decodeForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
