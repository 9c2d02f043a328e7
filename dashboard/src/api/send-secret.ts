import { isApiError } from './client.ts';

/**
 * Sends an entered secret. If the gateway answers that the value looks pasted (for example, that it
 * ends with a blank or begins with `Bearer`), the person is asked whether exactly this value is
 * meant. If so, it is sent again with `as_is`.
 */
export async function sendSecret<Answer>(
  send: (asIs: { as_is?: true }) => Promise<Answer>,
  askPerson: (question: string) => boolean = (question) => window.confirm(question),
): Promise<Answer> {
  try {
    return await send({});
  } catch (error) {
    if (!isApiError(error, 'invalid_params') || error.reason !== 'looks_pasted') throw error;
    const problem = error.issues[0]?.message ?? '';
    if (!askPerson(`The value ${problem}. Store exactly what was entered?`)) throw error;
    return send({ as_is: true });
  }
}
