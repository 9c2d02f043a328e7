/**
 * The words for a service in texts. They are the service's title, and its name in parentheses
 * unless the service has the name of its template: `GitHub`, but `GitHub (org/github)` and `GitHub
 * (work)`, because several services may have one title. Without a title, the words are the name
 * alone.
 */
export function serviceWords({
  service,
  template,
  title,
}: {
  readonly service: string;
  readonly template: string | null;
  readonly title: string | undefined;
}): string {
  if (title === undefined) return service;
  return service === template ? title : `${title} (${service})`;
}
