import { createSign, generateKeyPairSync } from 'node:crypto';

import { costly, createNames } from './stage.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

/** OAuth clients of ours, and the providers at which people sign in. */
export function clientEntries(stage: Stage): Entry[] {
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
    const own = `${site.origin}/client/${number}`;
    return { isTold: true, json: { client_id: own, ...metadataOf(url) } };
  });

  return [
    { name: 'the id of an OAuth client', oneOf: 41, attempt: (url) => authorize(url) },
    {
      name: 'a redirect of the id of an OAuth client',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => authorize(site.at('redirect', url)),
    },
    {
      name: 'what the document of an OAuth client names',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => authorize(site.at('client', url)),
    },
    {
      name: 'what an OAuth client registers',
      ...costly,
      isNeverCalled: true,
      async attempt(url) {
        await anybody.post('/oauth/register', { ...metadataOf(url), redirect_uris: [url] });
        const { status, body } = await anybody.post('/oauth/register', metadataOf(url));
        if (status !== 201) throw new Error(`not registered: ${JSON.stringify(body)}`);
        // Whatever is read of a client, is read now.
        await authorize(body.client_id, { request_uri: url });
        const assertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
        const form = {
          client_id: body.client_id,
          client_assertion_type: assertion,
          client_assertion: jwt,
          grant_type: 'refresh_token',
          refresh_token: 'x',
          resource: url,
        };
        const asked = { method: 'POST', body: new URLSearchParams(form) };
        await (await fetch(`${product}/oauth/token`, asked)).arrayBuffer();
        return true;
      },
    },
    ...signInEntries(stage),
  ];
}

const redirectUri = 'http://127.0.0.1:1/callback';
const jwt = 'eyJhbGciOiJSUzI1NiJ9.e30.eA';

/** All addresses that RFC 7591, OpenID Connect and their relatives let a client name. */
function metadataOf(url: string): object {
  const single = [
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
  const several = ['request_uris', 'post_logout_redirect_uris'];
  return {
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    subject_type: 'pairwise',
    ...Object.fromEntries(single.map((name) => [name, url])),
    ...Object.fromEntries(several.map((name) => [name, [url]])),
  };
}

type Endpoint = 'token_endpoint' | 'jwks_uri' | 'userinfo_endpoint';

/** A provider that is asked step by step, up to the one that leads to the URL. */
function signInEntries({ admin, anybody, site }: Stage): Entry[] {
  const providers = createNames('p');
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] };
  site.on('keys', () => ({ json: jwks }));
  site.on('id-token', ({ body }) => {
    // The code is what the answer is to repeat: there is nobody at this provider.
    const code = Buffer.from(new URLSearchParams(body).get('code') ?? '', 'base64url');
    const now = Math.floor(Date.now() / 1_000);
    const claims = { ...JSON.parse(code.toString()), sub: 'x', iat: now, exp: now + 600 };
    const idToken = signed(privateKey, claims);
    return { json: { access_token: 'CANARY-access', token_type: 'Bearer', id_token: idToken } };
  });
  const put = (key: string, issuer: string) => {
    const provider = { name: 'Somebody', issuer, client_id: 'gateway' };
    return admin.put(`/v1/sign-in-providers/${key}`, provider);
  };
  const signIn = async (key: string, issuer: string) => {
    if ((await put(key, issuer)).status > 299) return;
    const { headers } = await anybody.get(`/sign-in/with/${key}`);
    const { searchParams } = new URL(headers.get('location') ?? '');
    const [state, nonce] = [searchParams.get('state') ?? '', searchParams.get('nonce')];
    const code = Buffer.from(JSON.stringify({ nonce, iss: issuer, aud: 'gateway' }));
    const query = new URLSearchParams({ state, code: code.toString('base64url') });
    const cookie = headers.getSetCookie().map((each) => each.split(';')[0]);
    const path = `/sign-in/callback/${key}?${query.toString()}`;
    // Nobody comes in without an address; what matters has been asked for by then.
    await anybody.get(path, { cookie: cookie.join('; ') });
  };
  const describe = (kind: string, names: (url: string) => Partial<Record<Endpoint, string>>) =>
    site.on(kind, ({ url, number }) => ({
      json: {
        issuer: `${site.origin}/${kind}/${number}`,
        authorization_endpoint: `${site.origin}/authorize`,
        token_endpoint: site.at('id-token'),
        jwks_uri: site.at('keys'),
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...names(url),
      },
    }));

  const direct: Entry[] = [
    {
      name: 'a sign-in provider',
      oneOf: 79,
      attempt: (url) =>
        providers(async (key) => {
          if ((await put(key, url)).status < 300) await anybody.get(`/sign-in/with/${key}`);
        }),
    },
    {
      name: 'a redirect of a sign-in provider',
      ...costly,
      isNeverCalled: true,
      attempt: (url) => providers((key) => put(key, site.at('redirect', url))),
    },
  ];
  const endpoints: Record<Endpoint, string> = {
    token_endpoint: 'the token endpoint of a sign-in provider',
    jwks_uri: 'the keys of a sign-in provider',
    userinfo_endpoint: 'the userinfo of a sign-in provider',
  };
  return direct.concat(
    ...Object.entries(endpoints).map(([endpoint, name]): Entry[] => {
      const kind = `sign-in-${endpoint.replaceAll('_', '-')}`;
      describe(kind, (url) => ({ [endpoint]: url }));
      describe(`${kind}-redirect`, (url) => ({ [endpoint]: site.at('redirect', url) }));
      const attempt = (of: string) => (url: string) =>
        providers((key) => signIn(key, site.at(of, url)));
      return [
        { name, ...costly, attempt: attempt(kind) },
        {
          name: `a redirect of ${name}`,
          ...costly,
          isNeverCalled: true,
          attempt: attempt(`${kind}-redirect`),
        },
      ];
    }),
  );
}

function signed(key: Parameters<ReturnType<typeof createSign>['sign']>[0], claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256' })}.${part(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
}
