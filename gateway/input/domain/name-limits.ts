import { AppError } from '#errors';

/** The most headers of a call. Common servers accept about a hundred. */
const headerNamesMax = 200;
/** The most variables in the address of a service or provider. Real addresses have only a few. */
const variableNamesMax = 200;

/**
 * Counts the names in `query`, `headers` and `variables` before the body is validated. Validation
 * would describe every wrong member, possibly ten thousand of them, although only twenty are
 * reported.
 */
export function refuseManyNames(
  body: unknown,
  { queryValuesMax }: { readonly queryValuesMax: number },
): void {
  const { query, headers, variables } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (countNames(query) > queryValuesMax) throw tooManyQueryValuesError(queryValuesMax);
  assertFewHeaders(headers);
  if (countNames(variables) > variableNamesMax) {
    throw new AppError(
      'too_large',
      `There are more than ${variableNamesMax} variables; send fewer.`,
      {
        details: { limit: 'variables', max: variableNamesMax },
      },
    );
  }
}

export function assertFewHeaders(headers: unknown): void {
  if (countNames(headers) <= headerNamesMax) return;
  throw new AppError('too_large', `There are more than ${headerNamesMax} headers; send fewer.`, {
    details: { limit: 'headers', max: headerNamesMax },
  });
}

export function tooManyQueryValuesError(max: number): AppError {
  return new AppError(
    'too_large',
    `The query has more than ${max.toLocaleString('en')} values; send fewer.`,
    { details: { limit: 'query_values', max } },
  );
}

function countNames(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
}
