/** What stands in the field, as hosts: one a line, or with commas or spaces between them. */
export function hostsIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((host) => host !== ''))];
}
