import { createSign, generateKeyPairSync } from 'node:crypto';

import { costlyEntry, createNamePool } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

/**
 * The entry points that take URLs from OAuth clients of the gateway, and from sign-in providers.
 */
export function createClientEntries(stage: Stage): Entry[] {
  const { anybody, admin, site, url: product } = stage;
  const authorize = (clientId: string, more: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      state: 'x',
      ...more,
    });
    return admin.get(`/oauth/authorize?${query.toString()}`);
  };
  site.on('client', ({ url, number }) => {
    const clientUrl = `${site.origin}/client/${number}`;
    return { containsTestedUrl: true, json: { client_id: clientUrl, ...metadataOf(url) } };
  });

  return [
    { name: 'the id of an OAuth client', oneOf: 163, attempt: (url) => authorize(url) },
    {
      name: 'a redirect of the id of an OAuth client',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => authorize(site.at('redirect', url)),
    },
    {
      name: 'a URL in the document of an OAuth client',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => authorize(site.at('client', url)),
    },
    {
      name: 'a URL that an OAuth client registers',
      ...costlyEntry,
      isNeverCalled: true,
      async attempt(url) {
        await anybody.post('/oauth/register', { ...metadataOf(url), redirect_uris: [url] });
        const { status, body } = await anybody.post('/oauth/register', metadataOf(url));
        if (status !== 201) throw new Error(`not registered: ${JSON.stringify(body)}`);
        // The gateway never fetches a client's URLs. If it did, it would do so during the
        // authorization, so the test begins an authorization.
        await authorize(body.client_id, { request_uri: url });
        const assertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
        const form = {
          client_id: body.client_id,
          client_assertion_type: assertion,
          client_assertion: exampleJwt,
          grant_type: 'refresh_token',
          refresh_token: 'x',
          resource: url,
        };
        const formRequest = { method: 'POST', body: new URLSearchParams(form) };
        await (await fetch(`${product}/oauth/token`, formRequest)).arrayBuffer();
        return true;
      },
    },
    ...createSignInEntries(stage),
  ];
}

const redirectUri = 'http://127.0.0.1:1/callback';
const exampleJwt = 'eyJhbGciOiJSUzI1NiJ9.e30.eA';

/**
 * Client metadata with the URL in every member that RFC 7591, OpenID Connect and related
 * specifications define for URLs.
 */
function metadataOf(url: string): object {
  const singleUrlFields = [
    'client_uri',
    'logo_uri',
    'tos_uri',
    'policy_uri',
    'jwks_uri',
    'sector_identifier_uri',
    'initiate_login_uri',
    'backchannel_logout_uri',
    'frontchannel_logout_uri',
    'backchannel_client_notification_endpoint',
    'software_statement',
  ];
  const urlListFields = ['request_uris', 'post_logout_redirect_uris'];
  return {
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    subject_type: 'pairwise',
    ...Object.fromEntries(singleUrlFields.map((name) => [name, url])),
    ...Object.fromEntries(urlListFields.map((name) => [name, [url]])),
  };
}

type Endpoint = 'token_endpoint' | 'jwks_uri' | 'userinfo_endpoint';

/**
 * The entry points of sign-in providers. One endpoint of the provider is at the tested URL. The
 * endpoints that the gateway calls before this one answer correctly.
 */
function createSignInEntries({ admin, anybody, site }: Stage): Entry[] {
  const withProviderKey = createNamePool('p');
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] };
  site.on('keys', () => ({ json: jwks }));
  site.on('id-token', ({ body }) => {
    // The test has no user at this provider, so it puts the ID token's claims into the
    // authorization code, and the token endpoint reads them from the code.
    const code = Buffer.from(new URLSearchParams(body).get('code') ?? '', 'base64url');
    const now = Math.floor(Date.now() / 1_000);
    const claims = { ...JSON.parse(code.toString()), sub: 'x', iat: now, exp: now + 600 };
    const idToken = signJwt(privateKey, claims);
    return { json: { access_token: 'CANARY-access', token_type: 'Bearer', id_token: idToken } };
  });
  const putProvider = (key: string, issuer: string) => {
    const provider = { name: 'Somebody', issuer, client_id: 'gateway' };
    return admin.put(`/v1/sign-in-providers/${key}`, provider);
  };
  const signIn = async (key: string, issuer: string) => {
    if ((await putProvider(key, issuer)).status > 299) return;
    const { headers } = await anybody.get(`/sign-in/with/${key}`);
    const { searchParams } = new URL(headers.get('location') ?? '');
    const [state, nonce] = [searchParams.get('state') ?? '', searchParams.get('nonce')];
    const code = Buffer.from(JSON.stringify({ nonce, iss: issuer, aud: 'gateway' }));
    const query = new URLSearchParams({ state, code: code.toString('base64url') });
    const cookie = headers.getSetCookie().map((each) => each.split(';')[0]);
    const path = `/sign-in/callback/${key}?${query.toString()}`;
    // The sign-in fails because the provider gives no e-mail address, but by then the gateway has
    // called every endpoint.
    await anybody.get(path, { cookie: cookie.join('; ') });
  };
  const describeEndpoints = (
    kind: string,
    endpointsOf: (url: string) => Partial<Record<Endpoint, string>>,
  ) =>
    site.on(kind, ({ url, number }) => ({
      json: {
        issuer: `${site.origin}/${kind}/${number}`,
        authorization_endpoint: `${site.origin}/authorize`,
        token_endpoint: site.at('id-token'),
        jwks_uri: site.at('keys'),
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...endpointsOf(url),
      },
    }));

  const directEntries: Entry[] = [
    {
      name: 'a sign-in provider',
      oneOf: 307,
      attempt: (url) =>
        withProviderKey(async (key) => {
          if ((await putProvider(key, url)).status < 300) await anybody.get(`/sign-in/with/${key}`);
        }),
    },
    {
      name: 'a redirect of a sign-in provider',
      ...costlyEntry,
      isNeverCalled: true,
      attempt: (url) => withProviderKey((key) => putProvider(key, site.at('redirect', url))),
    },
  ];
  const endpoints: Record<Endpoint, string> = {
    token_endpoint: 'the token endpoint of a sign-in provider',
    jwks_uri: 'the keys of a sign-in provider',
    userinfo_endpoint: 'the userinfo of a sign-in provider',
  };
  return directEntries.concat(
    ...Object.entries(endpoints).map(([endpoint, name]): Entry[] => {
      const kind = `sign-in-${endpoint.replaceAll('_', '-')}`;
      describeEndpoints(kind, (url) => ({ [endpoint]: url }));
      describeEndpoints(`${kind}-redirect`, (url) => ({ [endpoint]: site.at('redirect', url) }));
      const attempt = (of: string) => (url: string) =>
        withProviderKey((key) => signIn(key, site.at(of, url)));
      return [
        { name, ...costlyEntry, attempt: attempt(kind) },
        {
          name: `a redirect of ${name}`,
          ...costlyEntry,
          isNeverCalled: true,
          attempt: attempt(`${kind}-redirect`),
        },
      ];
    }),
  );
}

function signJwt(
  key: Parameters<ReturnType<typeof createSign>['sign']>[0],
  claims: object,
): string {
  const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encodePart({ alg: 'RS256' })}.${encodePart(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
}
