import { isApiError } from './client.ts';

/**
 * Sends an entered secret. Where the gateway says that it looks pasted, with a blank at its end or
 * after `Bearer`, asks the person whether exactly that is meant, and sends it once more if it is.
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
