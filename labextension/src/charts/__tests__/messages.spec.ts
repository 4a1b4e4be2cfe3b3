import { readAnswer } from '../messages';

describe('an answer of a frame', () => {
  it('is a height in whole pixels, with a limit', () => {
    expect(readAnswer({ height: 12.3, more: 1 })).toEqual({ height: 13 });
    expect(readAnswer({ height: 1e300 })).toEqual({ height: 10_000 });
  });

  it('is a problem, with a limit', () => {
    expect(readAnswer({ problem: 'x'.repeat(1e6), height: 1 })).toEqual({ problem: 'x'.repeat(500) });
  });

  it.each([null, undefined, 5, 'x', [], {}, { height: '5px' }, { height: NaN }, { height: -1 }, { height: Infinity }])(
    'is never %p',
    message => expect(readAnswer(message)).toBeNull()
  );
});
