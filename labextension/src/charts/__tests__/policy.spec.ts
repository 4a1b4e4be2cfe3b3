import { framed, newNonce } from '../policy';

function parse(text: string): Document {
  return new DOMParser().parseFromString(text, 'text/html');
}

function policiesOf(page: Document): string[] {
  return [...page.querySelectorAll('meta[http-equiv="Content-Security-Policy"]')].map(meta =>
    meta.getAttribute('content')!
  );
}

describe('the document of a frame', () => {
  const script = 'const a = "<b>&amp;" && 1;';
  const outer = parse(framed(script, 'n0nce'));
  const frames = outer.querySelectorAll('iframe');
  const inner = parse(frames[0].getAttribute('srcdoc')!);

  it('has one frame with the script, unchanged, and no other script', () => {
    expect(frames.length).toBe(1);
    expect(frames[0].getAttribute('sandbox')).toBe('allow-scripts');
    expect(outer.querySelectorAll('script').length).toBe(0);
    expect([...inner.querySelectorAll('script')].map(each => each.textContent)).toEqual([script]);
  });

  it.each([outer, inner])('has policies that allow no request and no frame', page => {
    const [first, second] = policiesOf(page);
    expect(first).toContain("default-src 'none'");
    expect(first).toContain("frame-src 'none'");
    expect(first).toContain("script-src 'nonce-n0nce'");
    expect(first).not.toContain('http');
    expect(second).toBe("script-src 'unsafe-inline'");
  });

  it('has a new nonce each time', () => {
    expect(newNonce()).toMatch(/^[0-9a-f]{32}$/);
    expect(newNonce()).not.toBe(newNonce());
  });
});
