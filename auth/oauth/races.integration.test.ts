import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { withKey } from '../../test/support/http.ts';
import { authorization, redirectUri, startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn, Tokens } from '../../test/support/oauth-world.ts';
import type { Reply } from '../../test/support/http.ts';

/** `npm run test:oauth-races` plays 200. */
const rounds = Number(process.env['OAUTH_RACE_ROUNDS'] ?? 15);
const atOnce = 20;

let world: OauthWorld;
let person: SignedIn;
let clientId: string;

beforeAll(async () => {
  world = await startOauthWorld({ authReplicas: 3 });
  person = await world.person();
  clientId = await world.register();
  await world.signInClient(person, { clientId });
});
afterAll(() => world[Symbol.asyncDispose]());

describe('over three replicas of auth', () => {
  test(
    `a code presented ${atOnce} times at once is exchanged once, and nothing of it lives`,
    { timeout: rounds * 5_000 },
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { form } = await newCode();
        const replies = await presentAtOnce(form);
        await expectOneSuccessAndNoneAlive(replies, round);
      }
    },
  );

  test(
    `a refresh token presented ${atOnce} times at once is exchanged once, and nothing of it lives`,
    { timeout: rounds * 5_000 },
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { form } = await newCode();
        const tokens: Tokens = (await world.post('/oauth/token', form)).body;
        const replies = await presentAtOnce(refreshForm(tokens.refresh_token));
        await expectOneSuccessAndNoneAlive(replies, round);
        expect(await statusOf(tokens.access_token), `round ${round}`).toBe(401);
      }
    },
  );

  test('other chains of the same client and user go on', async () => {
    const [{ form: raced }, { form: other }] = [await newCode(), await newCode()];
    const bystander: Tokens = (await world.post('/oauth/token', other)).body;

    await presentAtOnce(raced);

    const { status } = await world.post('/oauth/token', refreshForm(bystander.refresh_token));
    expect(status).toBe(200);
  });

  test('a code and the refresh token before last, used again one after another, end the chain', async () => {
    const { form } = await newCode();
    const first: Tokens = (await world.post('/oauth/token', form)).body;
    const second: Tokens = (await world.post('/oauth/token', refreshForm(first.refresh_token)))
      .body;

    const reused = await world.post('/oauth/token', refreshForm(first.refresh_token));

    expect(reused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const next = await world.post('/oauth/token', refreshForm(second.refresh_token));
    expect(next).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await statusOf(second.access_token)).toBe(401);
  });
});

/** Presents it to connections of their own, so that every replica has its share. */
async function presentAtOnce(form: Record<string, string>): Promise<Reply[]> {
  return Promise.all(Array.from({ length: atOnce }, () => world.post('/oauth/token', form)));
}

async function expectOneSuccessAndNoneAlive(replies: readonly Reply[], round: number) {
  const winners = replies.filter(({ status }) => status === 200);
  const losers = replies.filter(({ status }) => status !== 200);
  expect(winners, `round ${round}`).toHaveLength(1);
  for (const { status, body } of losers) {
    expect({ status, error: body.error }, `round ${round}`).toEqual({
      status: 400,
      error: 'invalid_grant',
    });
  }
  const { access_token: accessToken, refresh_token: refreshToken } = winners[0]?.body ?? {};
  expect(await statusOf(accessToken), `round ${round}: access token`).toBe(401);
  const refreshed = await world.post('/oauth/token', refreshForm(refreshToken));
  expect(refreshed.status, `round ${round}: refresh token`).toBe(400);
}

async function newCode(): Promise<{ form: Record<string, string> }> {
  const { url, verifier } = authorization(world.url, { client_id: clientId });
  const answer = await person.browser.authorize(url);
  return {
    form: {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code: answer.searchParams.get('code') ?? '',
      code_verifier: verifier,
    },
  };
}

const refreshForm = (refreshToken: string) => ({
  grant_type: 'refresh_token',
  client_id: clientId,
  refresh_token: refreshToken,
});

async function statusOf(accessToken: string): Promise<number> {
  return (await withKey(world.url, accessToken).get('/v1/identities/me')).status;
}
