/** The ways in which an upgrade can change the meaning of a deny rule. */
export type RuleChange =
  | 'reaches_actions'
  | 'folds_argument'
  | 'spares_neighbours'
  | 'compares_one_spelling'
  | 'spares_other_services';

/** The explanation of each change, for the list of rules and the log. */
export const changeMeanings: Readonly<Record<RuleChange, string>> = {
  reaches_actions:
    'This deny rule names a host or a credential: it now also refuses actions that go there or use it.',
  folds_argument:
    'This deny rule now matches its argument without regard to letter case, ".git" and blanks, and any item of a list.',
  spares_neighbours:
    'This deny rule no longer refuses what another built-in or published template lists on the same host.',
  compares_one_spelling:
    'This deny rule now matches one spelling of its argument or path, in any letter case, and no longer numbers, addresses or names that servers may read alike. Calls by method and path that are its action are refused whatever their argument.',
  spares_other_services:
    'This deny rule no longer refuses actions of other services that send the same request.',
};
