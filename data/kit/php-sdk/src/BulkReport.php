<?php

/** What became of a file of reports: a bad row never costs a good one. */

declare(strict_types=1);

namespace Portcullis;

final class BulkReport
{
    /** @param list<array{error: string, input: string, rowNumber: int}> $invalidReports */
    private function __construct(
        public readonly int $savedReports,
        /** Rows that were not saved, in the order of the file. */
        public readonly array $invalidReports,
    ) {
    }

    /** @param array<string, mixed> $answer */
    public static function fromAnswer(array $answer): self
    {
        $data = Shape::part($answer, 'data');
        Shape::members($data, ['savedReports' => 'int']);
        $invalid = Shape::rows($data, 'invalidReports', ['error' => 'string', 'input' => 'string', 'rowNumber' => 'int']);
        return new self($data['savedReports'], $invalid);
    }
}
