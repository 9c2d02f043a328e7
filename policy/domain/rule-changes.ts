/** What became different for a deny rule with an upgrade. */
export type RuleChange = 'reaches_actions' | 'folds_argument' | 'spares_neighbours';

/** What people are told of such a rule, in the list of rules and in the log. */
export const changeMeanings: Readonly<Record<RuleChange, string>> = {
  reaches_actions:
    'This deny rule names a host or a credential: it now also refuses actions that go there or use it.',
  folds_argument:
    'This deny rule now matches its argument without regard to letter case, ".git" and blanks, and any item of a list.',
  spares_neighbours:
    'This deny rule no longer refuses what another built-in or published template lists on the same host.',
};
