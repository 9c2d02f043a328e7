import { expect, test } from 'vitest';

import { ApiError } from './client.ts';
import { sendSecret } from './send-secret.ts';

const pasted = new ApiError('invalid_params', 'Check it.', {
  reason: 'looks_pasted',
  issues: [{ path: 'value', message: 'must not begin or end with a blank' }],
});

/**
 * Sends a secret to a gateway that fails with `refusal` unless the request has `as_is`. `isMeant`
 * is the person's answer to the question.
 */
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

test('a secret that looks pasted is stored as entered if the person confirms the question', async () => {
  expect(await send(pasted, true)).toEqual({
    sent: [{}, { as_is: true }],
    questions: ['The value must not begin or end with a blank. Store exactly what was entered?'],
    answer: 'stored',
  });
});

test('a secret that looks pasted is not stored if the person declines the question', async () => {
  expect(await send(pasted, false)).toMatchObject({ sent: [{}], answer: pasted });
});

test('an error with another reason does not lead to a question', async () => {
  const other = new ApiError('invalid_params', 'Too short.', { issues: pasted.issues });
  expect(await send(other, true)).toEqual({ sent: [{}], questions: [], answer: other });
});
