import type { CallResult } from '#contracts/call';
import { formatJson } from './output.ts';
import type { ShownText } from './output.ts';

/** A result as answers contain it. Answers may leave out the headers. */
type Result = Omit<CallResult, 'headers'>;

/** The body of a result for stdout: a text as it is, anything else as JSON. Empty without a body. */
export function showBody({ body, filtered_body: filtered = body, file }: Result): ShownText {
  const shownBody = filtered ?? file;
  if (typeof shownBody === 'string') return { text: shownBody, isRaw: true };
  return { text: shownBody === undefined ? '' : formatJson(shownBody) };
}

/** A sentence for each thing that went wrong with a call that was made. */
export function describeProblems(result: Result): string[] {
  const { failure, filter_error: filterError, body_omitted: omitted } = result;
  return [
    ...(failure === undefined ? [] : [`Failed, ${failure.kind}: ${failure.message}`]),
    ...(filterError === undefined ? [] : [`The filter failed: ${filterError}`]),
    ...(omitted === undefined ? [] : [`The body was left out: ${omitted.reason}`]),
  ];
}
