const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

/**
 * The value of `http.request.method` by OpenTelemetry's conventions: the method, or `_OTHER`, so that
 * a client that makes up methods adds no series.
 */
export function toKnownMethod(method: string): string {
  return knownMethods.has(method) ? method : '_OTHER';
}
