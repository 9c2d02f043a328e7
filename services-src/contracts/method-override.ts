/**
 * Parameters by which some servers treat a POST as another method: `_method`, Salesforce's
 * `_HttpMethod`, and the header `X-HTTP-Method-Override` as a parameter. PHP reads a blank, a dot
 * or a bracket in a name as `_`, and ignores blanks before it.
 */
const overridePattern =
  /^\s*(?:[_. []method|[_. [$]http[-_]?method|x[-_]http[-_]method(?:[-_]override)?)\s*(?:[[\0]|$)/i;

/** Whether a parameter would make an upstream treat the request as one of another method. */
export function isMethodOverride(name: string): boolean {
  return overridePattern.test(name);
}
