/** The hosts in a text field, separated by line breaks, commas or spaces. */
export function parseHosts(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((host) => host !== ''))];
}
