import { randomUUID } from 'node:crypto';

import { startTestProvider } from '../../support/oauth-provider.ts';
import type { Person } from './people.ts';
import { created } from './world.ts';

/** What the provider grants: an access token, and what it is for. */
export interface Grant {
  readonly token: string;
  readonly scopes: readonly string[];
}

/** An account at the provider, connected. */
export interface Account {
  readonly id: string;
  readonly name: string;
  /** Refreshes it; the provider grants this. */
  refresh(grant: Grant): Promise<void>;
  /** Refreshes it; the provider has ended it. */
  lose(): Promise<void>;
}

export interface Provider extends AsyncDisposable {
  /** In the URLs of a template that asks for an account here. */
  readonly issuer: string;
  /** Its owner goes through all of it in a browser: our gate, the provider, and back. */
  connect(fields: Grant & { name: string; owner: Person; body?: object }): Promise<Account>;
}

/** Acme, a provider of the admin's org, that issues the tokens it is told to. */
export async function openProvider(admin: Person): Promise<Provider> {
  const acme = await startTestProvider('acme');
  const granted = new Map<string, Grant>();
  /** Of the one connection that is being made. */
  let first: { grant: Grant; refreshToken: string } | undefined;
  let making: Promise<unknown> = Promise.resolve();

  acme.answer = (response, { grant_type, refresh_token = '' }) => {
    const isFirst = grant_type === 'authorization_code';
    const grant = isFirst ? first?.grant : granted.get(refresh_token);
    if (grant === undefined) {
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
      return;
    }
    const refreshToken = (isFirst ? first?.refreshToken : undefined) ?? refresh_token;
    const scope = grant.scopes.join(' ');
    response.body = {
      ...{ access_token: grant.token, refresh_token: refreshToken },
      ...{ token_type: 'Bearer', expires_in: 3_600, scope },
    };
  };
  const { issuer } = acme;
  const definition = { title: 'Acme', issuer, hosts: ['api.acme.example'] };
  created(await admin.put('/v1/oauth-apps/acme', { client_id: 'gateway', definition }));

  return {
    issuer,
    async connect({ name, owner, body = { provider: 'acme' }, ...grant }) {
      const refreshToken = `CANARY-refresh-${randomUUID()}`;
      const connection = await inTurn(async () => {
        first = { grant, refreshToken };
        acme.account = { sub: randomUUID(), email: `${name}@acme.example` };
        const asked = created(await owner.post('/v1/connections', { ...body, name }));
        await authorize(owner, asked.authorization_url);
        first = undefined;
        return asked;
      });
      const path = `/v1/connections/${connection.id}/refresh`;
      return {
        id: connection.id,
        name,
        async refresh(next) {
          granted.set(refreshToken, next);
          created(await owner.post(path));
        },
        async lose() {
          const { body: refusal } = await owner.post(path);
          if (refusal.error !== 'reauth_required') throw new Error(JSON.stringify(refusal));
        },
      };
    },
    [Symbol.asyncDispose]: () => acme[Symbol.asyncDispose](),
  };

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = making.then(work);
    making = turn.catch(() => undefined);
    return turn;
  }
}

/** What the owner's browser does: it presses the button of the gate and follows where it is sent. */
export async function authorize(owner: Person, authorizationUrl: string): Promise<void> {
  const gate = new URL(authorizationUrl).pathname;
  if ((await owner.get(gate)).status !== 200) throw new Error('the gate is closed');
  const begun = await owner.post(gate);
  const atProvider = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
  const { pathname, search } = new URL(atProvider.headers.get('location') ?? '');
  const back = await owner.get(pathname + search);
  if (back.status !== 200) throw new Error(`coming back: ${back.status} ${back.body}`);
}
