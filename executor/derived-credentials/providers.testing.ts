import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Provider } from 'oidc-provider';
import type { ClientMetadata } from 'oidc-provider';

import { createCanary } from '../../test/support/canaries.ts';

export interface KeyPair {
  readonly pem: string;
  readonly publicKey: KeyObject;
}

/** An RSA key in a format in which providers issue keys. */
export function createKeyPair(type: 'pkcs1' | 'pkcs8' = 'pkcs8', bits = 2_048): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return { pem: String(privateKey.export({ type, format: 'pem' })), publicKey };
}

async function startServer(createHandler: (origin: string) => RequestListener) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('request', createHandler(`http://${host}`));
  return {
    host,
    origin: `http://${host}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * A provider that issues tokens to machines (RFC 6749 §4.4). The library `oidc-provider` checks the
 * grant type, the authentication of the client, the assertion with its audience and times, and the
 * scopes.
 */
export async function startMachineProvider(clients: readonly ClientMetadata[]) {
  const requests: string[] = [];
  const state: { provider?: Provider } = {};
  const server = await startServer((origin) => {
    const provider = new Provider(origin, {
      clients: clients.map((client) => ({
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        ...client,
      })),
      scopes: ['notes.read', 'notes.write'],
      features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
      clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      ttl: { ClientCredentials: 600 },
    });
    state.provider = provider;
    const handle = provider.callback();
    return (request, reply) => {
      requests.push(request.url ?? '');
      void handle(request, reply);
    };
  });
  return {
    ...server,
    tokenUrl: `${server.origin}/token`,
    requests,
    /**
     * The client and the scopes of a token; undefined for a token that the provider did not issue.
     */
    async look(token: string) {
      const storedToken = await state.provider?.ClientCredentials.find(token);
      return storedToken && { clientId: storedToken.clientId, scope: storedToken.scope };
    },
  };
}

interface Assertion {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
}

/** Reads a JWT according to RFC 7515. Throws if it is not signed with this key. */
export function readAssertion(jwt: string, publicKey: KeyObject): Assertion {
  const [header = '', claims = '', signature = ''] = jwt.split('.');
  const isGenuine = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${claims}`),
    createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })),
    Buffer.from(signature, 'base64url'),
  );
  if (!isGenuine) throw new Error('the signature is wrong');
  const read = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  return { header: read(header), claims: read(claims) };
}

interface TokenEndpointAnswer {
  readonly status: number;
  readonly body: object;
}

/** A token endpoint that answers with the result of `answer`, and records the requests. */
export async function startTokenEndpoint(
  answerRequest: (request: {
    headers: IncomingMessage['headers'];
    url: string;
    body: string;
  }) => TokenEndpointAnswer,
) {
  const requests: { url: string; body: string; headers: IncomingMessage['headers'] }[] = [];
  const server = await startServer(() => (request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      const received = { url, headers, body: Buffer.concat(chunks).toString() };
      requests.push(received);
      const { status, body } = answerRequest(received);
      reply.writeHead(status, { 'content-type': 'application/json' });
      reply.end(JSON.stringify(body));
    });
  });
  return { ...server, tokenUrl: `${server.origin}/token`, requests };
}

/**
 * Makes the checks of a provider on an assertion, except that of the signature (RFC 7523 §3).
 * Returns the problem.
 */
export function findAssertionProblem(
  { header, claims }: Assertion,
  expected: { iss: string; aud: string; sub?: string; secondsMax: number },
): string | undefined {
  const now = Date.now() / 1_000;
  const { iat, exp } = claims;
  if (header['alg'] !== 'RS256') return 'alg';
  if (claims['iss'] !== expected.iss) return 'iss';
  if (claims['aud'] !== expected.aud) return 'aud';
  if (claims['sub'] !== expected.sub) return 'sub';
  if (typeof exp !== 'number' || exp < now || exp > now + expected.secondsMax) return 'exp';
  return typeof iat === 'number' && iat <= now ? undefined : 'iat';
}

export const grantAnswerOf = (
  token = createCanary(),
  seconds: number | undefined = 600,
): TokenEndpointAnswer => ({
  status: 200,
  body: { access_token: token, token_type: 'Bearer', expires_in: seconds },
});
