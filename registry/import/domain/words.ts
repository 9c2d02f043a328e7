/** The words of a name, in lower case: `listUsers`, `LIST-users` and `list_users` have the same. */
export function wordsOf(name: string): string[] {
  return name
    .slice(0, 500)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}
