import { expect, test } from 'vitest';

import { ApiError } from './client.ts';
import { sendSecret } from './send-secret.ts';

const pasted = new ApiError('invalid_params', 'Check it.', {
  reason: 'looks_pasted',
  issues: [{ path: 'value', message: 'must not begin or end with a blank' }],
});

/** Sends to a gateway that refuses with `refusal`, unless it is told to store exactly this. */
async function send(refusal: ApiError, isMeant: boolean) {
  const sent: object[] = [];
  const questions: string[] = [];
  const answer = await sendSecret(
    async (asIs) => {
      sent.push(asIs);
      if (asIs.as_is !== true) throw refusal;
      return 'stored';
    },
    (question) => {
      questions.push(question);
      return isMeant;
    },
  ).catch((error: unknown) => error);
  return { sent, questions, answer };
}

test('a secret that looks pasted is stored as it is when the person says so', async () => {
  expect(await send(pasted, true)).toEqual({
    sent: [{}, { as_is: true }],
    questions: ['The value must not begin or end with a blank. Store exactly what was entered?'],
    answer: 'stored',
  });
});

test('a secret that looks pasted is not stored when the person says no', async () => {
  expect(await send(pasted, false)).toMatchObject({ sent: [{}], answer: pasted });
});

test('the person is asked about nothing else', async () => {
  const other = new ApiError('invalid_params', 'Too short.', { issues: pasted.issues });
  expect(await send(other, true)).toEqual({ sent: [{}], questions: [], answer: other });
});
