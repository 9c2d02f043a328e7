export interface ReleaseCandidate {
  readonly version: string;
  readonly lockedVersion: string;
  readonly changelog: string;
  /** The output of `git status --porcelain`. */
  readonly changedFiles: string;
  readonly tags: readonly string[];
  /** The newest release that has a tag. */
  readonly lastRelease: { readonly tag: string; readonly commit: string } | undefined;
  /** The content of `test/skew/baseline`, or '' without that file. */
  readonly baseline: string;
}

/** What prevents the commit from becoming a release, one sentence for each problem. */
export function findProblems(candidate: ReleaseCandidate): string[] {
  const { version, lockedVersion, changelog, changedFiles, tags, lastRelease, baseline } =
    candidate;
  const [firstHeading = ''] = /^## .*$/m.exec(changelog) ?? [];
  return [
    ...(/^\d+\.\d+\.\d+$/.test(version) && version !== '0.0.0'
      ? []
      : [`package.json: the version ${version} is none of a release.`]),
    ...(lockedVersion === version
      ? []
      : [`package-lock.json has the version ${lockedVersion}: run npm install.`]),
    ...(firstHeading.startsWith(`## ${version} `)
      ? []
      : [`CHANGELOG.md begins with "${firstHeading}", not with "## ${version} (date)".`]),
    ...(changedFiles === '' ? [] : ['There are changes that are not committed.']),
    ...(tags.includes(`v${version}`) ? [`The tag v${version} is there already.`] : []),
    ...(lastRelease === undefined || lastRelease.commit === baseline.trim()
      ? []
      : [
          `test/skew/baseline is not the commit of ${lastRelease.tag}: commit it with ${lastRelease.commit}.`,
        ]),
  ];
}
