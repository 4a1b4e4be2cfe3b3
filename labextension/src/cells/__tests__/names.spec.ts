import { nameIn } from '../names';

it.each([
  ['%%autocode growth\nSay what.', 'growth'],
  ['%%autocode growth -o "monthly: DataFrame"\nSay.', 'growth'],
  ['%%autocode -m openai/x growth\nSay.', 'growth'],
  ['%%autocode -o "a b: int" growth', 'growth'],
  ['%%autocode --skip-tests growth', 'growth'],
  ['%%autocode\n-m x growth\nSay.', 'growth'],
  ['\n\n%%autocode growth', 'growth'],
  ['%%autocode   größe  \r\nSay.', 'größe'],
  ['%%autocode', null],
  ['%%autocode -h', null],
  ['%%autocode 7th\nSay.', null],
  ['%autocode show growth', null],
  ['%%autocodex growth', null],
  ['print("%%autocode growth")', null],
  ['%%time\n%%autocode growth', null],
  ['', null]
])('%j is named %s', (source, name) => expect(nameIn(source)).toBe(name));
