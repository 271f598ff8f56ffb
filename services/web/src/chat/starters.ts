/** Files that the starter cards bring along, by language; their sizes in bytes are shown before anything is loaded. */
export interface Starter {
  readonly id: 'trend' | 'match' | 'clean';
  readonly files: readonly { name: string; bytes: Readonly<Record<'zh' | 'en', number>> }[];
}

export const starters: readonly Starter[] = [
  { id: 'trend', files: [{ name: 'sales_data.csv', bytes: { zh: 5929, en: 5720 } }] },
  {
    id: 'match',
    files: [
      { name: 'orders.csv', bytes: { zh: 4958, en: 5228 } },
      { name: 'payments.csv', bytes: { zh: 4292, en: 4283 } },
    ],
  },
  { id: 'clean', files: [{ name: 'customers.csv', bytes: { zh: 8650, en: 7905 } }] },
];
