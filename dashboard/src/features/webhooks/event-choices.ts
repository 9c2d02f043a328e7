interface EventChoice {
  readonly label: string;
  readonly hint: string;
  readonly events: readonly string[];
}

/** The event types that a webhook can receive, in the groups that the form offers. */
export const eventChoices: readonly EventChoice[] = [
  {
    label: 'Approvals',
    hint: 'An approval waits, moves to another person, or is decided.',
    events: ['approval.*'],
  },
  {
    label: 'Results of approved calls',
    hint: 'An approved call has run, with its result.',
    events: ['execution.finished'],
  },
  {
    label: 'Requests to people',
    hint: 'An agent asks for a service, an account or a secret, or was answered.',
    events: ['request.*', 'secret.*'],
  },
  {
    label: 'Accounts and credentials',
    hint: 'An account is connected, needs to be renewed or ends; a provider refuses a credential.',
    events: ['connection.*', 'credential.*'],
  },
  {
    label: 'Agents and permissions',
    hint: 'An agent, person or permission is created or ends.',
    events: ['identity.*', 'rule.*'],
  },
  {
    label: 'Webhooks',
    hint: 'The gateway switches a webhook off because nothing could be delivered.',
    events: ['webhook.*'],
  },
];

/**
 * Describes the events that a webhook receives: the labels of the choices that it receives
 * completely, and its other event types unchanged.
 */
export function describeEvents(events: readonly string[]): string[] {
  const labels = eventChoices
    .filter((choice) => choice.events.every((event) => events.includes(event)))
    .map(({ label }) => label);
  const described = new Set(
    eventChoices.filter(({ label }) => labels.includes(label)).flatMap((choice) => choice.events),
  );
  return [...labels, ...events.filter((event) => !described.has(event))];
}
