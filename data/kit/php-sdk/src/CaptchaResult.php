<?php

/** Whether a challenge was solved, and on which page. */

declare(strict_types=1);

namespace Portcullis;

final class CaptchaResult
{
    private function __construct(
        public readonly bool $ok,
        public readonly ?string $hostname = null,
        public readonly ?string $origin = null,
        public readonly ?string $siteKey = null,
        public readonly ?\DateTimeImmutable $solvedAt = null,
        /** What the visitor passed: `none`, `silent` (work in the background), `easy` or `hard` (a picture or sound). */
        public readonly ?string $level = null,
    ) {
    }

    public static function unsolved(): self
    {
        return new self(false);
    }

    /** @param array<string, mixed> $answer */
    public static function solved(array $answer): self
    {
        $text = static fn (string $name): ?string => is_string($answer[$name] ?? null) ? $answer[$name] : null;
        $at = \DateTimeImmutable::createFromFormat(\DateTimeInterface::ATOM, $text('challenge_ts') ?? '');
        return new self(true, $text('hostname'), $text('origin'), $text('sitekey'), $at === false ? null : $at, $text('level'));
    }
}
