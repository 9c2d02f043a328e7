import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createCallerWithKey } from '../../test/support/http.ts';
import {
  createAuthorizationRequest,
  redirectUri,
  startOauthWorld,
} from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn, Tokens } from '../../test/support/oauth-world.ts';
import type { Reply } from '../../test/support/http.ts';

/** `npm run test:oauth-races` runs 200 rounds. */
const rounds = Number(process.env['OAUTH_RACE_ROUNDS'] ?? 15);
const requestsAtOnce = 20;

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

describe('with three replicas of auth', () => {
  test(
    `an authorization code that ${requestsAtOnce} requests use at once is exchanged once, and all its tokens end`,
    { timeout: rounds * 5_000 },
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { form } = await createCode();
        const replies = await sendAtOnce(form);
        await expectOneSuccessAndNoneAlive(replies, round);
      }
    },
  );

  test(
    `a refresh token that ${requestsAtOnce} requests use at once is exchanged once, and all tokens of its grant end`,
    { timeout: rounds * 5_000 },
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { form } = await createCode();
        const tokens: Tokens = (await world.post('/oauth/token', form)).body;
        const replies = await sendAtOnce(refreshFormOf(tokens.refresh_token));
        await expectOneSuccessAndNoneAlive(replies, round);
        expect(await callStatusOf(tokens.access_token), `round ${round}`).toBe(401);
      }
    },
  );

  test('an authorization code that is used several times at once does not end other grants of its client and user', async () => {
    const [{ form: raced }, { form: other }] = [await createCode(), await createCode()];
    const bystander: Tokens = (await world.post('/oauth/token', other)).body;

    await sendAtOnce(raced);

    const { status } = await world.post('/oauth/token', refreshFormOf(bystander.refresh_token));
    expect(status).toBe(200);
  });

  test('a refresh token that is used a second time ends its grant', async () => {
    const { form } = await createCode();
    const firstTokens: Tokens = (await world.post('/oauth/token', form)).body;
    const secondTokens: Tokens = (
      await world.post('/oauth/token', refreshFormOf(firstTokens.refresh_token))
    ).body;

    const reusedReply = await world.post('/oauth/token', refreshFormOf(firstTokens.refresh_token));

    expect(reusedReply).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const next = await world.post('/oauth/token', refreshFormOf(secondTokens.refresh_token));
    expect(next).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await callStatusOf(secondTokens.access_token)).toBe(401);
  });
});

/** Sends the same token request in parallel, so that it reaches all replicas. */
async function sendAtOnce(form: Record<string, string>): Promise<Reply[]> {
  return Promise.all(
    Array.from({ length: requestsAtOnce }, () => world.post('/oauth/token', form)),
  );
}

async function expectOneSuccessAndNoneAlive(replies: readonly Reply[], round: number) {
  const acceptedReplies = replies.filter(({ status }) => status === 200);
  const refusedReplies = replies.filter(({ status }) => status !== 200);
  expect(acceptedReplies, `round ${round}`).toHaveLength(1);
  for (const { status, body } of refusedReplies) {
    expect({ status, error: body.error }, `round ${round}`).toEqual({
      status: 400,
      error: 'invalid_grant',
    });
  }
  const { access_token: accessToken, refresh_token: refreshToken } = acceptedReplies[0]?.body ?? {};
  expect(await callStatusOf(accessToken), `round ${round}: access token`).toBe(401);
  const refreshed = await world.post('/oauth/token', refreshFormOf(refreshToken));
  expect(refreshed.status, `round ${round}: refresh token`).toBe(400);
}

async function createCode(): Promise<{ form: Record<string, string> }> {
  const { url, verifier } = createAuthorizationRequest(world.url, { client_id: clientId });
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

const refreshFormOf = (refreshToken: string) => ({
  grant_type: 'refresh_token',
  client_id: clientId,
  refresh_token: refreshToken,
});

async function callStatusOf(accessToken: string): Promise<number> {
  return (await createCallerWithKey(world.url, accessToken).get('/v1/identities/me')).status;
}
